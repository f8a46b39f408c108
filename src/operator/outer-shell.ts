/**
 * What `@dot-i/k8s-operator` provides: the outer shell (construct, `init`, `start`, `stop`). Its own use of Kubernetes is
 * replaced (docs/decisions/0003); each override below says why.
 */
import operatorLibrary, { type ResourceMeta } from '@dot-i/k8s-operator';

// The library is CommonJS: an import wraps its default export.
export abstract class OuterShell extends operatorLibrary.default {
  /** Overridden: it watches without listing, handles all watch events one by one and exits the process on an error. */
  protected override watchResource(): Promise<void> {
    throw new Error('use a Controller, whose WatchCache lists, resumes and never exits');
  }

  /** Overridden: it logs a failed write and carries on as if it had succeeded. */
  protected override setResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use ManagedObject.writeStatus, which fails when the write fails');
  }

  /** Overridden: it logs a failed write and carries on as if it had succeeded. */
  protected override patchResourceStatus(_meta: ResourceMeta): Promise<ResourceMeta | null> {
    throw new Error('use ManagedObject.writeStatus, which fails when the write fails');
  }

  /** Overridden: it replaces the finalizers without a version check and ignores a failed write. */
  protected override setResourceFinalizers(_meta: ResourceMeta): Promise<void> {
    throw new Error('use ManagedObject.persist and removeFinalizer, which fail on a conflict');
  }

  /** Overridden: it goes through setResourceFinalizers and acts on the watch event instead of the newest object. */
  protected override handleResourceFinalizer(): Promise<boolean> {
    throw new Error('use ManagedReconciler, which finalizes the newest version of the object');
  }
}
