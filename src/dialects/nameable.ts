/** Names of vendors' types that the header `x-ganglion-dropped` can contain. */
export const NAMEABLE = /^[\w.-]{1,64}$/;
