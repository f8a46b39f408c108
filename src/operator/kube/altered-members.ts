/**
 * The members of a merge patch that were not stored as sent, each as `path[name]`. Pure.
 * @param sent null removes a member
 */
export function alteredMembers(
  path: string,
  sent: Readonly<Record<string, string | null>>,
  stored: Readonly<Record<string, string>> = {},
): string[] {
  return Object.entries(sent).flatMap(([key, value]) => ((stored[key] ?? null) === value ? [] : [`${path}[${key}]`]));
}
