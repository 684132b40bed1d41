/** Replaces `entities/decode` in the built Worker: scripts/worker.ts. */
export class EntityDecoder {}
export const DecodingMode = {};
export const htmlDecodeTree: unknown = undefined;
export const xmlDecodeTree: unknown = undefined;
