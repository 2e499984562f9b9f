// Where Parley is served: at the root of a host, or under a path behind a reverse proxy.

const script = import.meta.url; // a built script is in `assets/` below the root

/** The path that begins all URLs of this Parley; it ends with a slash. */
export const ROOT: string = import.meta.env.DEV ? "/" : new URL("..", script).pathname;
