/** A decoded file. `contentType` is the sender's, or the type detected from the bytes. */
export interface Media {
	bytes: Uint8Array<ArrayBuffer>;
	contentType?: string;
}
