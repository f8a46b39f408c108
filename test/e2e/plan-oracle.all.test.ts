/** The command `plan` is right about every kind. `plan-oracle.deep.test.ts` edits more objects. */
import { agreeAboutEveryKind } from './plan-oracle.ts';

await agreeAboutEveryKind('plan-oracle', 'in turn');
