/** The same call in the languages of other clients. The token is a placeholder. */

type Input = Readonly<Record<string, unknown>>;

export interface ExampleCall {
	model: string;
	/** The name of the model's task. */
	task: string;
	input: Input;
	/** The origin of the gateway. */
	origin: string;
	account: string;
}

export interface CallExample {
	title: string;
	text: string;
}

export function callExamples(call: ExampleCall): CallExample[] {
	const openAiCall = OPENAI_CALLS[call.task]?.(call.input);
	return [
		{ title: "curl", text: curl(call) },
		{ title: "TypeScript with env.AI", text: binding(call) },
		...(openAiCall ? [{ title: "OpenAI SDK", text: openAi(call, openAiCall) }] : []),
	];
}

/** A method of the OpenAI SDK, and its fields besides `model`. */
interface OpenAiCall {
	method: string;
	fields: Input;
}

/** By the task of the model. `undefined`: OpenAI's API has no such input. */
const OPENAI_CALLS: Readonly<Record<string, (input: Input) => OpenAiCall | undefined>> = {
	"Text Generation": (input) =>
		"messages" in input ? { method: "chat.completions.create", fields: input } : undefined,
	"Text Embeddings": ({ text }) =>
		text === undefined ? undefined : { method: "embeddings.create", fields: { input: text } },
	"Text-to-Image": ({ prompt }) =>
		prompt === undefined ? undefined : { method: "images.generate", fields: { prompt } },
};

const baseUrl = ({ origin, account }: ExampleCall): string => `${origin}/client/v4/accounts/${account}/ai`;

/** A single quote ends a quoted text of the shell, so it is escaped outside of it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (call: ExampleCall): string => `curl ${baseUrl(call)}/run/${call.model} \\
  -H "authorization: Bearer $TOKEN" \\
  -H "content-type: application/json" \\
  -d ${quoted(JSON.stringify(call.input))}`;

const binding = ({ model, input }: ExampleCall): string =>
	`const answer = await env.AI.run(${JSON.stringify(model)}, ${JSON.stringify(input, null, "\t")});`;

const openAi = (call: ExampleCall, { method, fields }: OpenAiCall): string => `import OpenAI from "openai";

const client = new OpenAI({
	baseURL: ${JSON.stringify(`${baseUrl(call)}/v1`)},
	apiKey: process.env.TOKEN,
});
const answer = await client.${method}(${JSON.stringify({ model: call.model, ...fields }, null, "\t")});`;
