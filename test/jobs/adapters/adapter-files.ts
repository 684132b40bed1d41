/** Files of a small adapter, as PEFT writes them. */

interface TensorHeader {
	dtype: string;
	shape: number[];
	data_offsets: number[];
}

/** A safetensors file with this header, whose data has `bytes` zeros. */
export function safetensors(
	header: Record<string, unknown> | string,
	bytes: number,
): Uint8Array<ArrayBuffer> {
	const json = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
	const file = new Uint8Array(8 + json.length + bytes);
	new DataView(file.buffer).setBigUint64(0, BigInt(json.length), true);
	file.set(json, 8);
	return file;
}

/** The two matrices of one module with 16 features: `rank * 16` numbers of 2 bytes each. */
export function loraHeader(rank: number): Record<string, TensorHeader> {
	const bytes = rank * 32;
	const module = "base_model.model.model.layers.0.self_attn.q_proj";
	return {
		[`${module}.lora_A.weight`]: { dtype: "BF16", shape: [rank, 16], data_offsets: [0, bytes] },
		[`${module}.lora_B.weight`]: { dtype: "BF16", shape: [16, rank], data_offsets: [bytes, 2 * bytes] },
	};
}

export const loraWeights = (rank = 8): Uint8Array<ArrayBuffer> =>
	safetensors({ __metadata__: { format: "pt" }, ...loraHeader(rank) }, rank * 64);

export const loraConfig = (fields: object = {}): string =>
	JSON.stringify({
		peft_type: "LORA",
		base_model_name_or_path: "mistralai/Mistral-7B-Instruct-v0.2",
		model_type: "mistral",
		r: 8,
		lora_alpha: 16,
		target_modules: ["q_proj"],
		...fields,
	});
