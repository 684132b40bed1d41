/**
 * The product's published components for web pages (`@cloudflare/ai-search-snippet`) on a public endpoint, in a page of another origin. npm
 * installs them when this test runs.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { installOnDemand } from "../../tools/clients/on-demand.ts";
import { api } from "./api.ts";
import { openTab } from "./browser.ts";
import { ADMIN_TOKEN, OPERATOR_ACCOUNT } from "./gateways.ts";

const PACKAGES = { "@cloudflare/ai-search-snippet": "0.0.42" };
const SCRIPT = "node_modules/@cloudflare/ai-search-snippet/dist/search-snippet.es.js";

it("the search bar and the chat of the product find and answer on a public endpoint", async (context) => {
	const client = await installOnDemand("ai-search-snippet", PACKAGES);
	if ("reason" in client) return context.skip(client.reason);
	const script = readFileSync(join(client.folder, SCRIPT));
	// A namespace of its own: another test expects no instances in the default one.
	const namespaces = `/accounts/${OPERATOR_ACCOUNT}/ai-search/namespaces`;
	const instances = `${namespaces}/components/instances`;
	let html = "";
	const server = createServer((request, response) => {
		const isScript = request.url === "/snippet.js";
		response
			.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" })
			.end(isScript ? script : html);
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

	await api("POST", namespaces, { name: "components" });
	await api("POST", instances, {
		id: "snippet",
		custom_metadata: [{ field_name: "title", data_type: "text" }],
	});
	const { public_endpoint_id: id } = await api<{ public_endpoint_id: string }>(
		"PUT",
		`${instances}/snippet`,
		{ public_endpoint_params: { enabled: true, authorized_hosts: [origin] } },
	);
	const form = new FormData();
	form.set("file", new File(["To reset a password, open the settings page."], "passwords.md"));
	form.set("metadata", JSON.stringify({ title: "Reset a password" }));
	form.set("wait_for_completion", "true");
	await upload(`${instances}/snippet/items`, form);

	const address = `${inject("serve")}/search/${OPERATOR_ACCOUNT}/${id}/`;
	html = `<!doctype html><script type="module" src="/snippet.js"></script>
		<search-bar-snippet api-url="${address}" disable-analytics="true"></search-bar-snippet>
		<chat-page-snippet api-url="${address}" chat-query-rewrite="true"></chat-page-snippet>`;
	const { page } = await openTab(origin, "/");
	const bar = page.locator("search-bar-snippet");
	await bar.locator("input").fill("reset password");
	await bar.getByText("Reset a password").waitFor();
	expect(await bar.locator(".search-count").textContent()).toContain("Found 1 result");

	const chat = page.locator("chat-page-snippet");
	await chat.locator("textarea").fill("How do I reset a password?");
	await chat.locator("textarea").press("Enter");
	const message = chat.locator(".chat-message-assistant .chat-message-text");
	await expect.poll(() => message.textContent()).toContain('You wrote: "How do I reset a password?"');
	await page.close();
	server.close();
	await api("DELETE", `${instances}/snippet`);
	await api("DELETE", `${namespaces}/components`);
});

async function upload(path: string, body: FormData): Promise<void> {
	const response = await fetch(`${inject("serve")}/client/v4${path}`, {
		...{ method: "POST", headers: { authorization: `Bearer ${ADMIN_TOKEN}` }, body },
	});
	expect(await response.json()).toMatchObject({ result: { status: "completed" } });
}
