/** API keys: their tokens, and whose they are. */
import { apiKey } from '../../resources/api-key.ts';
import { mount } from '../crud/mount.ts';
import { API_KEY_PREFIX } from '../secrets/tokens.ts';
import { tokenHooks } from './one-time-token.ts';

export const apiKeys = mount(apiKey, tokenHooks(apiKey, API_KEY_PREFIX));
