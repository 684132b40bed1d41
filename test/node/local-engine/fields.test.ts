/** Bodies of requests to the engine for ONNX models that cannot be read. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, it } from "vitest";
import { readBody } from "../../../engine/fields.ts";

/** A request whose body is these pieces. */
const requestOf = (pieces: Iterable<unknown>, complete: boolean): IncomingMessage =>
	Object.assign(Readable.from(pieces), { headers: {}, complete }) as unknown as IncomingMessage;
const failureOf = (incoming: IncomingMessage): Promise<unknown> =>
	readBody(incoming, new Request("http://engine")).catch((error: unknown) => error);

function* aborted(): Generator<Buffer> {
	yield Buffer.from('{"model"');
	throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
}

it("a caller who leaves before the end of its body is no fault", async () => {
	expect(await failureOf(requestOf(aborted(), false))).toMatchObject({ code: "cancelled" });
});

it.each([
	["of an incomplete body", false],
	["of a complete body", true],
])("an error of the code that reads the pieces %s is not a caller who has left", async (_, complete) => {
	const error = await failureOf(requestOf([{ length: 1 }], complete));
	expect(error).toBeInstanceOf(TypeError);
});

it("another error of a body that is complete is not a caller who has left", async () => {
	expect(await failureOf(requestOf(aborted(), true))).toMatchObject({ code: "ECONNRESET" });
});
