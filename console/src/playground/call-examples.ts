/** The same call in the languages of other clients. The token is a variable of the environment. */
import { curlExample } from "./curl-example.ts";
import type { CallExample, ExampleCall } from "./example-input.ts";
import { liveExamples } from "./live-example.ts";
import { openAiExample } from "./openai-example.ts";
import { withFiles } from "./placeholders.ts";

export const callExamples = (call: ExampleCall): CallExample[] =>
	call.live
		? liveExamples(call)
		: [
				{ title: "curl", text: curlExample(call) },
				{ title: "TypeScript with env.AI", text: binding(call) },
				{ title: "OpenAI SDK", ...openAiExample(call) },
			];

function binding({ model, fields, files, multipart, answerType }: ExampleCall): string {
	const lines: string[] = [];
	if (files.some(({ encoding }) => encoding === "base64" || encoding === "data-url"))
		lines.push('import { Buffer } from "node:buffer";\n');
	for (const [index, { name }] of files.entries())
		lines.push(
			`const file${index} = await fetch(${JSON.stringify(`https://example.com/${encodeURIComponent(name)}`)});`,
		);
	const name = JSON.stringify(model);
	if (multipart) {
		lines.push("const form = new FormData();");
		for (const [field, value] of Object.entries(fields))
			lines.push(`form.append(${JSON.stringify(field)}, ${JSON.stringify(String(value))});`);
		for (const [index, { field }] of files.entries())
			lines.push(`form.append(${JSON.stringify(field)}, await file${index}.blob());`);
		lines.push(
			"// The type contains the boundary of the form.",
			"const encoded = new Response(form);",
			`const answer = await env.AI.run(${name}, {`,
			'\tmultipart: { body: encoded.body, contentType: encoded.headers.get("content-type") },',
			"});",
		);
	} else {
		const inputs = withFiles(fields, files, "\t").map((part) =>
			typeof part === "string" ? part : expression(`file${part.index}`, part.file),
		);
		lines.push(`const answer = await env.AI.run(${name}, ${inputs.join("")});`);
	}
	if (answerType !== undefined)
		lines.push(
			`const response = new Response(answer, { headers: { "content-type": ${JSON.stringify(answerType)} } });`,
		);
	return lines.join("\n");
}

function expression(response: string, { encoding, type }: ExampleCall["files"][number]): string {
	const base64 = `Buffer.from(await ${response}.arrayBuffer()).toString("base64")`;
	switch (encoding) {
		case "bytes":
			return `[...new Uint8Array(await ${response}.arrayBuffer())]`;
		case "base64":
			return base64;
		case "data-url":
			return `\`data:${type};base64,\${${base64}}\``;
		case "body":
			return `{ body: ${response}.body, contentType: ${JSON.stringify(type)} }`;
		default:
			return encoding satisfies never;
	}
}
