/** The command `plan` about every kind, with every series of edits. */
import { agreeAboutEveryKind } from './plan-oracle.ts';

await agreeAboutEveryKind('plan-oracle', 'every');
