import { it } from "vitest";
import { imageSize } from "image-size";
import { z } from "zod";
it("x", async () => {
	const u: any = Uint8Array;
	console.log("toBase64", typeof u.prototype.toBase64, typeof u.fromBase64);
	const big = new Uint8Array(20_000_000).map((_, i) => i);
	let t = performance.now();
	const B = (await import("node:buffer")).Buffer;
	const s = B.from(big.buffer).toString("base64"); 
	console.log("buffer enc", performance.now() - t); t = performance.now();
	if (u.prototype.toBase64) { (big as any).toBase64(); console.log("native enc", performance.now() - t); t = performance.now(); u.fromBase64(s); console.log("native dec", performance.now() - t); t = performance.now();}
	B.from(s, "base64"); console.log("buf dec", performance.now() - t); t = performance.now();
	const arr = Array.from(big.subarray(0, 10_000_000)); t = performance.now();
	z.array(z.int().min(0).max(255)).safeParse(arr); console.log("zod arr", performance.now() - t); t = performance.now();
	const res = new Response("--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nhi\r\n--XX--\r\n", { headers: { "content-type": "multipart/form-data; boundary=XX" } });
	console.log([...(await res.formData())]);
	for (const [b, ct] of [["garbage", "multipart/form-data; boundary=XX"], ["--XX\r\nContent-Disp", "multipart/form-data; boundary=XX"], ["x", "multipart/form-data"], ["", "multipart/form-data; boundary=XX"], ["--XX--\r\n", "multipart/form-data; boundary=XX"], ["--XX\nContent-Disposition: form-data; name=\"a\"\n\nhi\n--XX--\n", "multipart/form-data; boundary=XX"]] as const)
		try { console.log(b, [...(await new Response(b, { headers: { "content-type": ct } }).formData())]); } catch (e) { console.log(b, String(e)); }
	const f = new FormData(); f.append("file", new Blob([new Uint8Array([1,2,3])], { type: "audio/wav" }), "a.wav"); f.append("blob", new Blob(["x"]));f.append("a","b");f.append("a","c");
	const r = new Response(f); const ct = r.headers.get("content-type"); const bytes = await r.arrayBuffer();
	console.log(ct, new TextDecoder().decode(bytes));
	const g = await new Response(bytes, { headers: { "content-type": ct! } }).formData();
	for (const [k, v] of g) console.log(k, v, typeof v === "string" ? "" : [v.type, v.name, v.size]);
	const S = z.object({ audio: z.custom<number[]>((v) => Array.isArray(v)).meta({ type: "array", items: { type: "integer" } }), o: z.custom((v) => v === 1).optional(), w: z.object({ body: z.instanceof(Uint8Array), contentType: z.string() }) });
	console.log(JSON.stringify(z.toJSONSchema(S, { unrepresentable: "any" })), JSON.stringify(z.toJSONSchema(S, { unrepresentable: "any", io: "input" })));
	console.log(JSON.stringify(S.safeParse({ w: { body: 1 } }).error?.issues));
	console.log(JSON.stringify(S.safeParse({ audio: 1, w: { body: 1 } }, { reportInput: true }).error?.issues));
	console.log(imageSize);
});
