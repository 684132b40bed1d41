/** SHA-256 in hexadecimal digits. */
export async function checksumOf(bytes: Uint8Array): Promise<string> {
	const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
	return Buffer.from(digest).toString("hex");
}
