/** The ids of resources, events and deliveries in a text. */
import { FAMILIES } from '../../src/resources/families.ts';

export const ID = new RegExp(`\\b(${FAMILIES.map(({ prefix }) => prefix).join('|')}|ev|evd)_[0-9a-z]{26}\\b`, 'g');

export const idsIn = (text: string): Set<string> => new Set(text.match(ID));
