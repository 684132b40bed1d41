import { tei } from "../../../src/backends/tei/index.ts";
import embed from "../../fixtures/tei/embed.json?raw";
import predict from "../../fixtures/tei/predict.json?raw";
import rerank from "../../fixtures/tei/rerank.json?raw";
import { describeBackend } from "../contract.ts";
import { json, type SentRequest, TARGET, worldOf } from "../upstream.ts";

const REPLIES: Record<string, string> = { "/embed": embed, "/rerank": rerank, "/predict": predict };

const server = ({ url }: SentRequest): Response => json(REPLIES[new URL(url).pathname] ?? "", 200);

describeBackend({
	name: "tei",
	backend: tei,
	target: { ...TARGET, kind: "tei", url: "http://tei.test" },
	world: () => worldOf(server).world,
	observedWorld() {
		const { world, requests } = worldOf(server);
		return { world, stopped: () => requests.every(({ signal }) => signal.aborted) };
	},
	tasks: ["text-embeddings", "reranking", "text-classification"],
});
