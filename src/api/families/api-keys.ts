/** API keys: their tokens, and whose they are. */
import { apiKey } from '../../resources/api-key.ts';
import { mount } from '../mount.ts';
import type { Api } from '../operation.ts';
import { API_KEY_PREFIX } from '../tokens.ts';
import { issued } from './issued.ts';

export function apiKeys(api: Api): void {
  mount(api, apiKey, issued(API_KEY_PREFIX));
}
