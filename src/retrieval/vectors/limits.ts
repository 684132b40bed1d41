/** Limits of the product: developers.cloudflare.com/vectorize/platform/limits. */
export const MAX_DIMENSIONS = 1_536;
export const MAX_ID_BYTES = 64;
export const MAX_NAMESPACE_BYTES = 64;
export const MAX_INDEX_NAME_BYTES = 64;
export const MAX_INDEXES = 50_000;
export const MAX_METADATA_BYTES = 10_240;
export const MAX_METADATA_INDEXES = 10;
/** A longer string is indexed, and compared, by its first bytes. */
export const INDEXED_STRING_BYTES = 64;
export const MAX_GET_IDS = 20;
export const MAX_DELETE_IDS = 100;
/** Vectors of one insert or upsert: by the binding, and over REST. */
export const MAX_BOUND_VECTORS = 1_000;
export const MAX_REST_VECTORS = 5_000;
export const MAX_UPLOAD_BYTES = 100_000_000;
export const DEFAULT_TOP_K = 5;
export const MAX_TOP_K = 100;
/** With `returnValues` or `returnMetadata: "all"`. */
export const MAX_DETAILED_TOP_K = 50;
export const MAX_FILTER_BYTES = 2_048;
export const MAX_FILTER_KEY_CHARACTERS = 512;
export const MAX_LISTED = 1_000;
export const DEFAULT_LISTED = 100;
