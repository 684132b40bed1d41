/**
 * A script with a binding whose models run on this machine. It asks once, if the arguments have a model, a path and a body, and ends by
 * itself.
 */
import { text } from "node:stream/consumers";
import { withLocalModels } from "../../../miniflare/local-models.ts";
import { request } from "../../../scripts/http.ts";

const [model, path, body] = process.argv.slice(2);
const { options, secrets } = (await withLocalModels({ engine: "local" }, process.env)) ?? {};
if (model !== undefined) {
	const { url } = Object(options?.BACKENDS).local;
	const modelRequest = request(`${url}/model:${encodeURIComponent(model)}${path}`, {
		method: "POST",
		headers: { authorization: `Bearer ${secrets?.LOCAL_ENGINE_KEY}` },
		// The connections of a gateway end with its session.
		agent: false,
	});
	modelRequest.once("response", async (answer) =>
		console.log(`answered ${answer.statusCode} ${await text(answer)}`),
	);
	modelRequest.end(body);
}
