/** Descriptions of images: the models that are called, and what they receive. */
import { describe, expect, it } from "vitest";
import type { CallModel } from "../../../src/retrieval/documents/describe.ts";
import { testServices } from "../../gateway.ts";
import { convertAll } from "./convert.ts";
import { fixture } from "./fixtures.ts";

const DETECTION = "@cf/facebook/detr-resnet-50";
const VISION = "@cf/google/gemma-3-12b-it";
const engine = { backend: "engine", model: "gemma3" };
const BACKENDS = { engine: { kind: "openai", url: "http://engine/v1" } };
const routed = testServices({ vars: { BACKENDS, ROUTES: { [VISION]: [engine], [DETECTION]: [engine] } } });
const RED = { name: "red.png", mimeType: "image/png", bytes: fixture("red.png") };

interface Call {
	model: string;
	inputs: Parameters<CallModel>[1];
}

/** Records the calls, and answers as the two models do. */
function models(description: unknown = { response: " A red\nrectangle. " }): {
	calls: Call[];
	callModel: CallModel;
} {
	const calls: Call[] = [];
	const callModel: CallModel = async (model, inputs) => {
		calls.push({ model, inputs });
		if (model === DETECTION)
			return [
				{ label: "flag", score: 0.9 },
				{ label: "dog", score: 0.1 },
			];
		if (description instanceof Error) throw description;
		return description;
	};
	return { calls, callModel };
}

describe("an image", () => {
	it("is described by the vision model, with the labels of the detection and the language", async () => {
		const { calls, callModel } = models();
		const options = { image: { descriptionLanguage: "fr" } } as const;
		expect(await convertAll([RED], options, callModel, routed)).toEqual([
			{ name: "red.png", mimeType: "image/png", format: "markdown", tokens: 4, data: "A red rectangle.\n" },
		]);
		expect(calls.map(({ model }) => model)).toEqual([DETECTION, VISION]);
		expect(calls[0]?.inputs.body).toEqual({ bytes: RED.bytes, contentType: "image/png" });
		const prompt = JSON.stringify(calls[1]?.inputs.fields);
		expect(prompt).toContain("A detector found: flag.");
		expect(prompt).toContain("in French");
		expect(prompt).toContain(`data:image/png;base64,${RED.bytes.toBase64()}`);
	});

	it("is described by the next model of the list if no route names the first, and without labels if none detects", async () => {
		const { calls, callModel } = models({ choices: [{ message: { content: "Red." } }] });
		const vars = { BACKENDS, ROUTES: { "@cf/google/gemma-4-26b-a4b-it": [engine] } };
		const [conversion] = await convertAll([RED], {}, callModel, testServices({ vars }));
		expect(conversion).toMatchObject({ data: "Red.\n" });
		expect(calls.map(({ model }) => model)).toEqual(["@cf/google/gemma-4-26b-a4b-it"]);
	});

	it("without a route has an error that names the model and the setting, and the other files are converted", async () => {
		const csv = { name: "a.csv", mimeType: "", bytes: new TextEncoder().encode("a\n") };
		expect(await convertAll([RED, csv], {}, undefined, testServices({ vars: { BACKENDS } }))).toMatchObject([
			{
				format: "error",
				error: `Images need a model that describes them: set a route for ${VISION} in ROUTES`,
			},
			{ format: "markdown" },
		]);
	});

	it("has the error of its model", async () => {
		const failure = Object.assign(new Error(), {
			description: "you have used up your daily free allocation",
		});
		expect(await convertAll([RED], {}, models(failure).callModel, routed)).toMatchObject([
			{ error: "The image could not be described: you have used up your daily free allocation" },
		]);
	});

	it.each([
		["no image", new TextEncoder().encode("x"), "The file is damaged, or is not an image of its type"],
		[
			"an image of 65,535 x 65,535 pixels by its header",
			// The header of a GIF: signature, width, height, and no pixels.
			new Uint8Array([...new TextEncoder().encode("GIF89a"), 0xff, 0xff, 0xff, 0xff, 0, 0, 0]),
			"The image has 65535 x 65535 pixels; 40 million are the most",
		],
	])("is refused before a model is called: %s", async (_, bytes, error) => {
		const { calls, callModel } = models();
		const file = { name: "a.gif", mimeType: "", bytes };
		expect(await convertAll([file], {}, callModel, routed)).toMatchObject([{ format: "error", error }]);
		expect(calls).toEqual([]);
	});

	it("in SVG is described by its source, without the pixels in it", async () => {
		const { calls, callModel } = models();
		const svg = `<svg xmlns="http://www.w3.org/2000/svg"><title>Sun</title><image href="data:image/png;base64,${"A".repeat(500)}"/></svg>`;
		const file = { name: "sun.svg", mimeType: "", bytes: new TextEncoder().encode(svg) };
		expect(await convertAll([file], {}, callModel, routed)).toMatchObject([{ data: "A red rectangle.\n" }]);
		expect(calls.map(({ model }) => model)).toEqual([VISION]);
		const prompt = JSON.stringify(calls[0]?.inputs.fields);
		expect(prompt).toContain("<title>Sun</title>");
		expect(prompt).not.toContain("AAAA");
	});
});

describe("an image inside of a document", () => {
	const images = { convert: true };
	const page = (count: number) => ({
		name: "a.html",
		mimeType: "",
		bytes: new TextEncoder().encode(
			`<p>x</p><img alt=logo src="data:image/png;base64,${RED.bytes.toBase64()}">`.repeat(count),
		),
	});

	it.each([
		["report.docx", "A red chart"],
		["report.odt", "Chart"],
		["tagged.pdf", ""],
	] as const)("of %s is described on request", async (name, alt) => {
		const file = { name, mimeType: "", bytes: fixture(name) };
		const { callModel } = models({ response: "A *red* chart" });
		const options = { docx: { images }, pdf: { images, metadata: false } };
		const [described] = await convertAll([file], options, callModel, routed);
		expect(described).toMatchObject({ data: expect.stringContaining("A \\*red\\* chart\n") });
		const [plain] = await convertAll([file], {}, undefined, routed);
		expect(plain).toMatchObject({ data: expect.not.stringContaining("\\*red\\*") });
		expect(plain).toMatchObject({ data: expect.stringContaining(alt) });
	});

	it.each([
		[12, undefined, 10],
		[3, 2, 2],
		[3, 0, 0],
		[1, -1, 0],
	])(
		"of %d with the limit %j: %d are described, the others keep their text",
		async (count, maxConvertedImages, described) => {
			const { calls, callModel } = models({ response: "red" });
			const html = {
				images: { convert: true, ...(maxConvertedImages !== undefined && { maxConvertedImages }) },
			};
			const [conversion] = await convertAll([page(count)], { html }, callModel, routed);
			expect(calls.filter(({ model }) => model === VISION)).toHaveLength(described);
			const lines = (conversion as { data: string }).data.split("\n");
			expect(lines.filter((line) => line === "red")).toHaveLength(described);
			expect(lines.filter((line) => line === "logo")).toHaveLength(count - described);
		},
	);

	it("keeps its text if its model fails, and the document has an error if no route serves a model", async () => {
		const options = { html: { images } };
		expect(await convertAll([page(1)], options, models(new Error("x")).callModel, routed)).toMatchObject([
			{ data: "x\n\nlogo\n" },
		]);
		expect(
			await convertAll([page(1)], options, undefined, testServices({ vars: { BACKENDS } })),
		).toMatchObject([
			{
				format: "error",
				error: `Images need a model that describes them: set a route for ${VISION} in ROUTES`,
			},
		]);
	});
});
