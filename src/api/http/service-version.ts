/** The version of this API, which requests may name and responses always do. */
export const SERVICE_VERSION = '2';
export const SERVICE_VERSION_HEADER = 'service-version';
