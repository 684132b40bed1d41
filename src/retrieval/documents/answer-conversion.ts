/** The other end of `remoteConverter`: converts the file of a request. */
import { convertFile } from "./convert-file.ts";
import { decodeFile, encodeConverted } from "./message.ts";

export async function answerConversion(request: Request): Promise<Response> {
	const message = new Uint8Array(await request.arrayBuffer());
	return new Response(encodeConverted(await convertFile(...decodeFile(message))));
}
