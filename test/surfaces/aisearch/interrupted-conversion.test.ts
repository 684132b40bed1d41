/** An item whose conversion ends without an answer: the converter may have been killed with the gateway. */
import { expect, it } from "vitest";
import { UNSAFE } from "../../../src/retrieval/documents/converter.ts";
import { searchApi } from "./api.ts";

it("is converted again once, and then has an error", async () => {
	const api = searchApi();
	let conversions = 0;
	const services = api.services as { convertDocument: unknown };
	services.convertDocument = async () => {
		conversions++;
		return { format: "error", error: UNSAFE, work: 1 };
	};
	await api.create("docs");
	api.hold();
	const { result: item } = await api.upload("page.html", "<p>A page.</p>");
	const [work] = api.held;
	if (!work) throw new Error("no work was queued");
	const status = async () => (await api.get(`/instances/docs/items/${item.id}`)).result;
	await expect(api.runOnce(work)).rejects.toThrow(UNSAFE);
	expect((await status()).status).toBe("running");
	await api.runOnce(work, { attempt: 2 });
	expect(await status()).toMatchObject({ status: "error", error: "unable_to_convert_to_markdown" });
	expect(conversions).toBe(2);
});
