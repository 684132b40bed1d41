import { describe, expect, it } from "vitest";
import { SafetensorsCheck } from "../../../src/jobs/adapters/safetensors-check.ts";
import { loraHeader, loraWeights, safetensors } from "./adapter-files.ts";

function check(file: Uint8Array, { maxRank = 32, pieceBytes = file.length } = {}): number {
	const checking = new SafetensorsCheck(maxRank);
	for (let at = 0; at < file.length; at += pieceBytes) checking.add(file.subarray(at, at + pieceBytes));
	return checking.end();
}

const tensor = (fields: object = {}) => ({
	"layers.0.lora_A.weight": { dtype: "F32", shape: [4, 2], data_offsets: [0, 32], ...fields },
});

describe("a safetensors file", () => {
	it.each([1, 7, 8, 9, 100_000])("is valid in pieces of %d bytes", (pieceBytes) => {
		expect(check(loraWeights(16), { pieceBytes })).toBe(16);
	});

	it("has the largest rank of its matrices, of embeddings too", () => {
		const header = {
			...loraHeader(4),
			"embed.lora_embedding_A": { dtype: "F16", shape: [12, 100], data_offsets: [256, 2656] },
		};
		expect(check(safetensors(header, 2656))).toBe(12);
	});

	it("may list its tensors in any order", () => {
		const reversed = Object.fromEntries(Object.entries(loraHeader(8)).toReversed());
		expect(check(safetensors(reversed, 512))).toBe(8);
	});

	it.each([
		["nothing", new Uint8Array(), "the file ends before its header does"],
		["7 bytes", new Uint8Array(7), "the file ends before its header does"],
		["a cut header", loraWeights().subarray(0, 40), "the file ends before its header does"],
		[
			"a header without an end",
			new Uint8Array(8).fill(255),
			/a header of at most 8388608 bytes, found 18446744073709551615/,
		],
		["no JSON", safetensors("{", 0), "expected a header of JSON, found another text"],
		["a list", safetensors("[]", 0), "expected a header of JSON, found another text"],
		[
			"no UTF-8",
			(() => {
				const file = safetensors('{"a":1}', 0);
				file[10] = 0xff;
				return file;
			})(),
			"expected a header of JSON, found another text",
		],
		[
			"an entry that is no tensor",
			safetensors({ "a.lora_A.weight": 3 }, 0),
			"tensor a.lora_A.weight: expected dtype, shape and data_offsets",
		],
		[
			"whole numbers",
			safetensors(tensor({ dtype: "I8" }), 32),
			/tensor layers\.0\.lora_A\.weight: expected a dtype of F64, F32, F16, BF16, F8_E4M3, F8_E5M2/,
		],
		["an inherited name as a type", safetensors(tensor({ dtype: "constructor" }), 32), /expected a dtype of/],
		["a gap", safetensors(tensor({ data_offsets: [4, 36] }), 36), "expected data from byte 0, found 4"],
		[
			"an overlap",
			safetensors(
				{ ...tensor(), "b.lora_B.weight": { dtype: "F32", shape: [2], data_offsets: [28, 36] } },
				36,
			),
			"expected data from byte 32, found 28",
		],
		[
			"another length than its shape",
			safetensors(tensor({ data_offsets: [0, 36] }), 36),
			"expected 32 bytes for its shape, found 36",
		],
		[
			"a shape beyond all numbers",
			safetensors(tensor({ shape: [2 ** 40, 2 ** 40] }), 32),
			/tensor layers\.0/,
		],
		[
			"a negative offset",
			safetensors(tensor({ data_offsets: [-4, 28] }), 32),
			"expected dtype, shape and data_offsets",
		],
		[
			"fewer bytes than its header",
			safetensors(tensor(), 31),
			/expected \d+ bytes as in its header, found \d+/,
		],
		["bytes after its tensors", safetensors(tensor(), 33), /bytes as in its header, found more/],
		[
			"no matrices",
			safetensors({ "a.weight": { dtype: "F32", shape: [1], data_offsets: [0, 4] } }, 4),
			"expected tensors of LoRA matrices (lora_A), found none",
		],
		[
			"only metadata",
			safetensors({ __metadata__: {} }, 0),
			"expected tensors of LoRA matrices (lora_A), found none",
		],
		[
			"a rank beyond the bound",
			safetensors({ "a.lora_A.weight": { dtype: "F32", shape: [33, 64], data_offsets: [0, 8448] } }, 8448),
			"expected a rank of at most 32, found 33",
		],
	])("with %s is refused", (_, file, message) => {
		expect(() => check(file)).toThrowError(
			expect.objectContaining({
				key: "invalidRequest",
				description: expect.stringMatching(
					message instanceof RegExp ? message : message.replaceAll(/[()]/g, "\\$&"),
				),
			}),
		);
	});

	it("is refused at the first byte too many", () => {
		const checking = new SafetensorsCheck(32);
		checking.add(loraWeights());
		expect(() => checking.add(new Uint8Array(1))).toThrowError(/found more/);
	});
});
