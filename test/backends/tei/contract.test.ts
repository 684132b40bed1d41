import { tei } from "../../../src/backends/tei/index.ts";
import embed from "../../fixtures/tei/embed.json?raw";
import predict from "../../fixtures/tei/predict.json?raw";
import rerank from "../../fixtures/tei/rerank.json?raw";
import { describeBackend } from "../contract.ts";
import { json, type SentRequest, servicesOf, TARGET } from "../upstream.ts";

const REPLIES: Record<string, string> = { "/embed": embed, "/rerank": rerank, "/predict": predict };

const server = ({ url }: SentRequest): Response => json(REPLIES[new URL(url).pathname] ?? "", 200);

describeBackend({
	name: "tei",
	backend: tei,
	target: { ...TARGET, kind: "tei", url: "http://tei.test" },
	services: () => servicesOf(server).services,
	observedServices() {
		const { services, requests } = servicesOf(server);
		return { services, stopped: () => requests.every(({ signal }) => signal.aborted) };
	},
	tasks: ["text-embeddings", "reranking", "text-classification"],
});
