/** Uses the binding in Node, as frameworks do: `npm run node "What is a ganglion?"` */
import { getPlatformProxy } from "wrangler";

const { env, dispose } = await getPlatformProxy<{ AI: Ai }>();
const answer = await env.AI.run("@cf/meta/llama-3.3-70b-instruct-fp8-fast", {
	prompt: process.argv[2] ?? "Hello, who are you?",
});
console.log(answer);
await dispose();
