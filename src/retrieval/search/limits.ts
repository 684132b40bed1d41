/** Limits of the product: developers.cloudflare.com/ai-search/platform/limits-pricing. Those without a comment are the product's. */
export const MAX_NAMESPACES = 100;
export const MAX_ID_CHARACTERS = 64;
export const MAX_KEY_CHARACTERS = 128;
export const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Of plain text and code. */
export const MAX_TEXT_BYTES = 10 * 1024 * 1024;
export const MAX_ITEMS = 100_000;
export const MAX_LISTED = 50;
export const DEFAULT_LISTED = 20;
export const MAX_CUSTOM_FIELDS = 5;
export const MAX_METADATA_BYTES = 10_240;
export const MIN_CHUNK_TOKENS = 64;
/** Ours: the largest input of the embedding models. */
export const MAX_CHUNK_TOKENS = 8_192;
/** Ours: the product does not document its default. */
export const DEFAULT_CHUNK_TOKENS = 256;
export const DEFAULT_OVERLAP_PERCENT = 10;
export const MAX_OVERLAP_PERCENT = 30;
/** Ours: chunks of one item. */
export const MAX_CHUNKS = 20_000;
export const DEFAULT_RESULTS = 10;
export const MAX_RESULTS = 50;
/** The best ones of the vectors, and of the keywords, that are fused. */
export const CANDIDATES = 50;
export const DEFAULT_THRESHOLD = 0.4;
export const MAX_EXPANSION = 3;
export const MAX_BOOSTS = 3;
export const MAX_BOOST_FIELD_CHARACTERS = 64;
export const MAX_SEARCHED_INSTANCES = 10;
/** Of a cached answer. */
export const MIN_CACHE_SECONDS = 600;
export const MAX_CACHE_SECONDS = 518_400;
export const DEFAULT_CACHE_SECONDS = 172_800;
export const SYNC_COOLDOWN_MS = 30_000;
/** Of a request that waits for the end of an ingestion. */
export const MAX_WAIT_MS = 40_000;
/** Ours: characters of a query. */
export const MAX_QUERY_CHARACTERS = 8_192;
