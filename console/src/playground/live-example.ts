/** A live transcription in other clients. */
import { baseUrl, type CallExample, type ExampleCall } from "./example-input.ts";
import { queryOf } from "./query.ts";

/** What both clients send: the samples of a file, and the end of the session. */
const SEND = `	// 16-bit samples, mono, 16 kHz, without a header.
	for await (const samples of createReadStream("speech.pcm")) socket.send(samples);
	socket.send(JSON.stringify({ type: "CloseStream" }));`;

export function liveExamples(call: ExampleCall): CallExample[] {
	const { model, fields, open } = call;
	const query = queryOf(fields);
	const address = `${baseUrl(call).replace(/^http/, "ws")}/run/${model}?${query}`;
	const protocols = open ? "" : `, ["ganglion", \`cf-aig-authorization.\${process.env.TOKEN}\`]`;
	return [
		{
			title: "WebSocket",
			text: `import { createReadStream } from "node:fs";

const socket = new WebSocket(${JSON.stringify(address)}${protocols});
socket.onmessage = ({ data }) => console.log(data);
socket.onopen = async () => {
${SEND}
};`,
		},
		{
			title: "TypeScript with env.AI",
			text: `const { webSocket: socket } = await env.AI.run(${JSON.stringify(model)}, ${JSON.stringify(fields, null, "\t")}, { websocket: true });
socket.accept();
socket.addEventListener("message", ({ data }) => console.log(data));
// \`recording\`: a stream of 16-bit samples, mono, 16 kHz, without a header.
for await (const samples of recording) socket.send(samples);
socket.send(JSON.stringify({ type: "CloseStream" }));`,
		},
		{ title: "curl", absent: "curl cannot send live audio: use a websocket." },
		{
			title: "OpenAI SDK",
			absent: "OpenAI's SDK has no method for a live transcription over this websocket.",
		},
	];
}
