/** A model that speaks, of a few numbers: each sign has a short wave of its own. The shape of MMS-TTS (VITS). */
import { writeOnnx } from "./onnx.ts";
import type { Files } from "./tiny-models.ts";

/** The first one stands between the others. */
const SIGNS = ["_", "a", "b", " "];
const SAMPLES_OF_A_SIGN = 64;
export const VOICE_RATE = 16_000;

const waveOf = (sign: number): number[] =>
	Array.from({ length: SAMPLES_OF_A_SIGN }, (_, at) => (sign / 4) * Math.sin((at * sign * Math.PI) / 16));

/** The samples of a text of known signs. */
export const samplesOf = (text: string): number[] =>
	`_${[...text].join("_")}_`.split("").flatMap((sign) => waveOf(SIGNS.indexOf(sign)));

/** Shape of mms-tts-eng. */
export const voiceModel = (): Files => ({
	"config.json": JSON.stringify({
		...{ model_type: "vits", architectures: ["VitsModel"], vocab_size: SIGNS.length },
		sampling_rate: VOICE_RATE,
	}),
	"tokenizer.json": JSON.stringify({
		...{ version: "1.0", truncation: null, padding: null, added_tokens: [] },
		normalizer: {
			type: "Sequence",
			normalizers: [
				{ type: "Lowercase" },
				{ type: "Replace", pattern: { Regex: "[^ab ]" }, content: "" },
				{ type: "Replace", pattern: { Regex: "(?=.)|(?<!^)$" }, content: "_" },
			],
		},
		pre_tokenizer: { type: "Split", pattern: { Regex: "" }, behavior: "Isolated", invert: false },
		...{ post_processor: null, decoder: null },
		model: { vocab: Object.fromEntries(SIGNS.map((sign, id) => [sign, id])) },
	}),
	"tokenizer_config.json": JSON.stringify({
		...{ tokenizer_class: "VitsTokenizer", model_max_length: 1_000_000, language: "eng" },
		...{ add_blank: true, normalize: true, is_uroman: false, phonemize: false, pad_token: "_" },
	}),
	"onnx/model.onnx": writeOnnx({
		weights: [
			{
				...{ name: "waves", dims: [SIGNS.length, SAMPLES_OF_A_SIGN] },
				data: SIGNS.flatMap((_, sign) => waveOf(sign)),
			},
			{ name: "flat", dims: [2], data: [0, -1], isInteger: true },
		],
		nodes: [
			{ op: "Gather", inputs: ["waves", "input_ids"], outputs: ["parts"] },
			{ op: "Reshape", inputs: ["parts", "flat"], outputs: ["waveform"] },
		],
		inputs: ["input_ids", "attention_mask"].map((name) => ({
			...{ name, isInteger: true as const, dims: ["batch", "length"] },
		})),
		outputs: [{ name: "waveform", dims: ["batch", "samples"] }],
	}),
});
