/**
 * Maps the fields of a task to the inputs of a model. Models have different names for the same input: each field has a
 * list of names, the most frequent first, and the first that the model has is used. Values are clamped to the range of the
 * input; a value that is not among its choices is omitted.
 */
import { dataUrl } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { typeOf } from "../../media/types.ts";
import type { Extensions } from "../../tasks/extensions.ts";
import { chooseExtensions } from "../media-extensions.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { type CogModel, type Field, readModel } from "./model.ts";
import { type Prediction, predict } from "./predictions.ts";

const NAMES = {
	prompt: ["prompt", "text", "input", "input_text", "text_prompt"],
	raw_template: ["prompt_template"],
	system: ["system_prompt", "system"],
	messages: ["messages"],
	negative_prompt: ["negative_prompt"],
	width: ["width"],
	height: ["height"],
	steps: ["num_inference_steps", "num_steps", "steps", "ddim_steps"],
	guidance: ["guidance_scale", "guidance", "cfg_scale", "cfg"],
	strength: ["prompt_strength", "strength"],
	seed: ["seed"],
	image: ["image", "input_image", "init_image", "image_prompt"],
	images: ["input_images", "images", "image_input"],
	mask: ["mask", "mask_image"],
	format: ["output_format", "format"],
	max_tokens: ["max_tokens", "max_new_tokens", "max_length", "max_output_tokens"],
	temperature: ["temperature"],
	top_p: ["top_p"],
	top_k: ["top_k"],
	repetition_penalty: ["repetition_penalty"],
	frequency_penalty: ["frequency_penalty"],
	presence_penalty: ["presence_penalty"],
	stop: ["stop_sequences", "stop"],
	question: ["prompt", "question", "caption_prompt"],
	audio: ["audio", "audio_file", "file", "input_audio", "audio_path"],
	task: ["task"],
	translate: ["translate"],
	language: ["language", "lang"],
	vocabulary: ["initial_prompt", "prompt"],
	spoken: ["text", "prompt", "input", "gen_text"],
	voice: ["voice", "speaker", "voice_id"],
	speed: ["speed", "speaking_rate"],
	texts: ["texts", "sentences", "inputs", "documents", "text_batch"],
	text: ["text", "prompt", "input", "inputs"],
} as const satisfies Record<string, readonly string[]>;
type Name = keyof typeof NAMES;

/** The inputs of one prediction. */
export class CogInputs {
	readonly values: Record<string, unknown> = {};
	readonly #model: CogModel;
	readonly #call: Call;

	constructor(model: CogModel, call: Call) {
		this.#model = model;
		this.#call = call;
	}

	/** No inputs yet, for the model of the container. */
	static async of(call: Call): Promise<CogInputs> {
		return new CogInputs(await readModel(call), call);
	}

	predict(): Promise<Prediction> {
		return predict(this.#call, this.values);
	}

	has(name: Name): boolean {
		return this.#find(name) !== undefined;
	}

	/** The JSON type of the input for a field. */
	typeOf(name: Name): string | undefined {
		return this.#model.fields.get(this.#find(name) ?? "")?.type;
	}

	/** Sets the input for a field. `false`: the value is absent, or the model has no input for it. */
	set(name: Name, value: unknown): boolean {
		const inputName = this.#find(name);
		if (inputName === undefined || value === undefined) return false;
		const converted = convert(value, this.#model.fields.get(inputName) ?? {});
		if (converted === undefined) return false;
		this.values[inputName] = converted;
		return true;
	}

	setAll(fields: { [Field in Name]?: unknown }): void {
		for (const name of Object.keys(fields) as Name[]) this.set(name, fields[name]);
	}

	/** Sets the inputs that have the caller's own names. */
	extend(extensions: Extensions | undefined): void {
		const { fields } = this.#model;
		const sent = chooseExtensions(
			this.#call,
			extensions,
			(name) => fields.has(name) && !(name in this.values),
		);
		for (const [name, value] of Object.entries(sent)) {
			const converted = convert(value, fields.get(name) ?? {});
			if (converted !== undefined) this.values[name] = converted;
		}
	}

	/** Sets a required input. */
	require(name: Name, value: unknown): void {
		if (!this.set(name, value))
			throw unsupported(this.#call, `has no input for ${name.replaceAll("_", " ")}`);
	}

	/** Two fields may share a name: the first one that is set gets the input. */
	#find(name: Name): string | undefined {
		return NAMES[name].find((each) => this.#model.fields.has(each) && !(each in this.values));
	}
}

/** Cog accepts files as URLs. The server need not fetch data URLs. */
export const fileUrl = (media: Media): string =>
	dataUrl(media.bytes, typeOf(media) ?? media.contentType ?? "application/octet-stream");

function convert(value: unknown, field: Field): unknown {
	if (field.enum) return chooseFrom(value, field.enum);
	if (typeof value === "number" && field.type !== "string") return clamp(value, field);
	if (Array.isArray(value)) return field.type === "string" ? listText(value) : value;
	if (field.type === "array") return [value];
	return field.type === "string" && typeof value !== "string" ? String(value) : value;
}

/** The nearest number, or the equal text. */
function chooseFrom(value: unknown, choices: readonly (string | number)[]): unknown {
	if (typeof value === "number") {
		const numbers = choices.map(Number).filter((each) => !Number.isNaN(each));
		const [nearest] = numbers.sort((a, b) => Math.abs(a - value) - Math.abs(b - value));
		return choices.find((each) => Number(each) === nearest);
	}
	const text = String(value).toLowerCase();
	return choices.find((each) => String(each).toLowerCase() === text);
}

function clamp(value: number, { type, minimum = -Infinity, maximum = Infinity }: Field): number {
	const bounded = Math.min(maximum, Math.max(minimum, value));
	return type === "integer" ? Math.round(bounded) : bounded;
}

/** Models with a string input for a list split it at commas. Lists of other values are sent as JSON. */
const listText = (values: unknown[]): string =>
	values.every((value) => typeof value === "string") ? values.join(",") : JSON.stringify(values);
