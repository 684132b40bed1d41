/** The call in OpenAI's SDK, if it has a method for the input. */
import { baseUrl, type ExampleCall, type ExampleFile } from "./example-input.ts";
import { withFiles } from "./placeholders.ts";

/** A method of the SDK, and its fields besides `model`. */
interface Method {
	name: string;
	fields: Readonly<Record<string, unknown>>;
	/** Read from the disk. */
	files?: readonly ExampleFile[];
	/** The answer is a file. */
	saves?: string;
}

/** By the task of the model. `undefined`: OpenAI's API has no such input. */
const METHODS: Readonly<Record<string, (call: ExampleCall) => Method | undefined>> = {
	"Text Generation": ({ fields }) => {
		const { prompt, ...others } = fields;
		if (!("messages" in fields) && typeof prompt !== "string") return undefined;
		const messages = fields.messages ?? [{ role: "user", content: prompt }];
		return { name: "chat.completions.create", fields: { messages, ...others } };
	},
	"Text Embeddings": ({ fields: { text } }) =>
		text === undefined ? undefined : { name: "embeddings.create", fields: { input: text } },
	"Text-to-Image": textToImage,
	"Text-to-Speech": ({ fields: { text, prompt, speaker }, voice }) => ({
		name: "audio.speech.create",
		fields: { voice: speaker ?? voice ?? "default", input: text ?? prompt },
		saves: "answer.mp3",
	}),
	"Automatic Speech Recognition": ({ fields, files: [file] }) =>
		file && {
			name: fields.task === "translate" ? "audio.translations.create" : "audio.transcriptions.create",
			fields: typeof fields.language === "string" ? { language: fields.language } : {},
			files: [{ ...file, field: "file" }],
		},
};

function textToImage({ fields: { prompt, width, height }, files }: ExampleCall): Method | undefined {
	if (prompt === undefined || files.length > 1) return undefined;
	const size = width !== undefined && height !== undefined ? { size: `${width}x${height}` } : {};
	const [image] = files;
	if (!image) return { name: "images.generate", fields: { prompt, ...size } };
	return { name: "images.edit", fields: { prompt, ...size }, files: [{ ...image, field: "image" }] };
}

export function openAiExample(call: ExampleCall): { text: string } | { absent: string } {
	const method = METHODS[call.task]?.(call);
	if (!method) return { absent: `OpenAI's SDK has no method for this input (${call.task}).` };
	const { name, fields, files = [], saves } = method;
	const parameters = withFiles({ model: call.model, ...fields }, files, "\t").map((part) =>
		typeof part === "string"
			? part
			: `await toFile(createReadStream(${JSON.stringify(part.file.name)}), ${JSON.stringify(part.file.name)}, { type: ${JSON.stringify(part.file.type)} })`,
	);
	const imports = [
		...(files.length > 0 ? ['import { createReadStream } from "node:fs";'] : []),
		...(saves === undefined ? [] : ['import { writeFile } from "node:fs/promises";']),
		files.length > 0 ? 'import OpenAI, { toFile } from "openai";' : 'import OpenAI from "openai";',
	];
	return {
		text: `${imports.join("\n")}

const client = new OpenAI({
	baseURL: ${JSON.stringify(`${baseUrl(call)}/v1`)},
	apiKey: ${call.open ? '"none"' : "process.env.TOKEN"},
});
const answer = await client.${name}(${parameters.join("")});${
			saves === undefined
				? ""
				: `\nawait writeFile(${JSON.stringify(saves)}, new Uint8Array(await answer.arrayBuffer()));`
		}`,
	};
}
