/** The programs that a control plane and its tests need. */
export type BinaryName =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kubectl'
  | 'helm'
  | 'promtool'
  | 'kstatus'
  | 'lua'
  | 'pebble';
