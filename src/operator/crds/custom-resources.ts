/** Everything that has a CustomResourceDefinition. */
import { connectionKinds } from '../connections/connection-kinds.ts';
import { allKinds } from '../kinds/kinds.ts';
import type { CustomResource } from './crd.ts';

export const customResources: readonly CustomResource[] = [...allKinds, ...connectionKinds];
