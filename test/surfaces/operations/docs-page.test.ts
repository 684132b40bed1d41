import type { Root } from "hast";
import { fromParse5 } from "hast-util-from-parse5";
import { selectAll } from "hast-util-select";
import { parse } from "parse5";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../../src/surfaces/operations/openapi-document.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { testGateway } from "../../gateway.ts";

describe("GET /docs", () => {
	it("has an article for each operation, and no link without a target", async () => {
		const response = await testGateway().app.request("http://gateway/docs");
		expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
		expect(response.headers.get("content-security-policy")).toMatch(/^default-src 'none'; /);
		const text = await response.text();
		const tree = fromParse5(parse(text)) as Root;
		const ids = selectAll("[id]", tree).map(({ properties }) => String(properties.id));
		const operations = Object.values((await openApiDocument(ROUTES)).paths).flatMap((methods) =>
			Object.values(methods),
		);
		const articles = selectAll("article", tree).map(({ properties }) => String(properties.id));
		expect(articles.sort()).toEqual(operations.map(({ operationId }) => operationId).sort());
		for (const { properties } of selectAll("a[href^='#']", tree))
			expect(ids).toContain(String(properties.href).slice(1));
		expect(new Set(ids).size).toBe(ids.length);
		expect(selectAll("script, img, link", tree)).toEqual([]);
		expect(text).toContain("export GATEWAY=http://gateway\n".trim());
		expect(text).toContain("&quot;status&quot;: &quot;ready&quot;");
		expect(text).toContain("-F &#39;file=@recording.mp3&#39; \\\n  -F &#39;model=@cf/openai/whisper&#39;");
	});

	it("escapes text of the document", async () => {
		const { docsPage } = await import("../../../src/surfaces/operations/docs-page.ts");
		const document = await openApiDocument(ROUTES);
		document.info.description = '<script>alert("x")</script>';
		expect(docsPage(document)).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;");
	});
});
