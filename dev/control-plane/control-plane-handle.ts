/** The handle of a running control plane. */
import type { ProcessStats } from '../processes/stats.ts';

export interface ControlPlane {
  /** Where the API server listens, e.g. `https://127.0.0.1:20123`. */
  readonly server: string;
  /** The text of a kubeconfig of a member of `system:masters`, with embedded certificates. */
  readonly kubeconfig: string;
  readonly kubeconfigPath: string;
  readonly kubectlPath: string;
  /** Where etcd's data and the logs are (`kube-apiserver.log` …) while it runs; undefined for an external cluster. */
  readonly dataDir: string | undefined;
  /** Whether owned objects are garbage-collected, namespaces deleted and service accounts made. */
  readonly hasControllerManager: boolean;
  /**
   * True for the cluster of `TEST_KUBECONFIG`, whose processes are not ours: everything below except `stop` and `stats`
   * then throws.
   */
  readonly external: boolean;
  /** Kills the API server with SIGKILL and returns when it has ended. Connections break. */
  killApiServer(): Promise<void>;
  /** Starts it again on the same port and data, and returns when it is ready. */
  startApiServer(): Promise<void>;
  /** `killApiServer`, then `startApiServer`. */
  restartApiServer(): Promise<void>;
  /** SIGSTOP: connections stay open, but nothing responds. */
  pauseApiServer(): void;
  resumeApiServer(): void;
  /** The processes and their current resource usage; empty for an external cluster. */
  stats(): Promise<ProcessStats[]>;
  /** Stops all processes, waits for their exit, and removes the data directory. May be called again. */
  stop(): Promise<void>;
}
