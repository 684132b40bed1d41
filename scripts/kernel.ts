/** `npm run kernel`: writes the binary form of the WebAssembly text beside it. A test compares them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import wabt from "wabt";
import { ROOT } from "./root.ts";

const SOURCE = join(ROOT, "src/retrieval/vectors/durable/kernel.wat");
export const BINARY = SOURCE.replace(/wat$/, "wasm");

/** The module that the text describes, validated. */
export async function assembledKernel(): Promise<Uint8Array> {
	const { parseWat } = await wabt();
	const module = parseWat(SOURCE, readFileSync(SOURCE, "utf8"), { simd: true });
	try {
		module.validate();
		return module.toBinary({}).buffer;
	} finally {
		module.destroy();
	}
}

if (import.meta.main) writeFileSync(BINARY, await assembledKernel());
