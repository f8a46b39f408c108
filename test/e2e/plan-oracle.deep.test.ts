/** The command `plan` is right about every kind, in every series of edits. */
import { agreeAboutEveryKind } from './plan-oracle.ts';

await agreeAboutEveryKind('plan-oracle', 'every');
