/** Inputs for tests whose specs take no text from Secrets or ConfigMaps. */
import { ObjectStore } from '../../src/operator/kube/object-store.ts';
import { digester } from '../../src/operator/managed/declaration/digest.ts';
import { Inputs } from '../../src/operator/managed/knowledge/inputs.ts';
import { ReferenceIndex } from '../../src/operator/managed/knowledge/reference-index.ts';

export function noInputs(): Inputs {
  const none = async () => {
    throw new Error('no spec of this test takes text from elsewhere');
  };
  return new Inputs({
    index: new ReferenceIndex(),
    sources: { versionOf: () => undefined, reader: () => none },
    grants: new ObjectStore(),
    digest: digester('test'),
  });
}
