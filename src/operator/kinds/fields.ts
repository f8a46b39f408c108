/** Spec fields that most kinds have. */
import { bytes } from '../../resources/formats/text.ts';

export const description = (about: string) => bytes(255).optional().meta({ description: about });

export const metadata = bytes(4096).optional().meta({ description: 'Machine-readable data of yours; never read.' });
