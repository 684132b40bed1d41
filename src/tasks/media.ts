/** A file, decoded; `contentType` is what the sender said, or what the bytes are known to be. */
export interface Media {
	bytes: Uint8Array<ArrayBuffer>;
	contentType?: string;
}
