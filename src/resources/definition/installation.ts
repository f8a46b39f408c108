/** A header of every response to a valid API key: the id of the installation, which its database keeps. */
export const INSTALLATION_HEADER = 'installation-id';
