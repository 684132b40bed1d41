/** The same call in the languages of other clients. The token is a placeholder. */

export interface ExampleCall {
	model: string;
	input: object;
	/** The origin of the gateway. */
	origin: string;
	account: string;
}

export interface CallExample {
	title: string;
	text: string;
}

export const callExamples = (call: ExampleCall): CallExample[] => [
	{ title: "curl", text: curl(call) },
	{ title: "TypeScript with env.AI", text: binding(call) },
	...("messages" in call.input ? [{ title: "OpenAI SDK", text: openAi(call) }] : []),
];

const baseUrl = ({ origin, account }: ExampleCall): string => `${origin}/client/v4/accounts/${account}/ai`;

/** A single quote ends a quoted text of the shell, so it is escaped outside of it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curl = (call: ExampleCall): string => `curl ${baseUrl(call)}/run/${call.model} \\
  -H "authorization: Bearer $TOKEN" \\
  -H "content-type: application/json" \\
  -d ${quoted(JSON.stringify(call.input))}`;

const binding = ({ model, input }: ExampleCall): string =>
	`const answer = await env.AI.run(${JSON.stringify(model)}, ${JSON.stringify(input, null, "\t")});`;

const openAi = (call: ExampleCall): string => `import OpenAI from "openai";

const client = new OpenAI({
	baseURL: ${JSON.stringify(`${baseUrl(call)}/v1`)},
	apiKey: process.env.TOKEN,
});
const answer = await client.chat.completions.create(${JSON.stringify({ model: call.model, ...call.input }, null, "\t")});`;
