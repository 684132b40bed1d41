/**
 * Splits a request for several images (`n`) into requests for one image, because engines generate one image for each call.
 * Each request is admitted, counted and charged separately. They run in parallel. The first failure cancels the others and
 * becomes the reply. Images that were already generated are charged.
 */
import { otherDialects } from "../../dialects/index.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { RequestGivenUp, run } from "../../pipeline/run.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";

export async function runEach(request: InferenceRequest, services: PipelineServices): Promise<Reply> {
	const { mergeImages, singleImageBodies } = await otherDialects();
	const bodies = singleImageBodies(request.inputs.fields);
	if (bodies.length === 1) return run(request, services);
	const stop = new AbortController();
	const signal = AbortSignal.any([request.signal, stop.signal]);
	// Without `options`: the requests may be identical, and single-flight would give them the same image.
	const { options: _, ...common } = request;
	const runs = bodies.map((fields, index) =>
		run(
			{ ...common, id: index === 0 ? request.id : services.uuid(), inputs: { fields }, signal },
			services,
		).catch((error: unknown) => {
			stop.abort(new RequestGivenUp("", { cause: error }));
			throw error;
		}),
	);
	const results = await Promise.allSettled(runs);
	if (stop.signal.aborted) throw stop.signal.reason.cause;
	return mergeReplies(
		results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])),
		mergeImages,
	);
}

/** The first reply, with the images of all replies and the sums of their attempts and costs. */
function mergeReplies(
	replies: readonly Reply[],
	mergeImages: (values: readonly unknown[]) => unknown,
): Reply {
	const [first] = replies;
	if (!first) throw new TypeError("There is no reply to merge");
	const costs = replies.flatMap(({ neurons }) => neurons ?? []);
	const attempts = replies.reduce((sum, { served }) => sum + served.attempts, 0);
	const streams = replies.flatMap(({ body }) => (body.kind === "events" ? body.events : []));
	const values = replies.map(({ body }) => (body.kind === "json" ? body.value : undefined));
	return {
		...first,
		served: { ...first.served, attempts },
		...(costs.length > 0 && { neurons: costs.reduce((sum, cost) => sum + cost, 0) }),
		body:
			streams.length > 0
				? { kind: "events", events: inSequence(streams) }
				: { kind: "json", value: mergeImages(values) },
	};
}

/** The streams one after the other. */
function inSequence(streams: readonly ReadableStream<Uint8Array>[]): ReadableStream<Uint8Array> {
	const sources = streams.map((stream) => PulledStream.sourceOf(stream));
	return new PulledStream({
		async pull() {
			for (; sources[0]; sources.shift()) {
				const piece = await sources[0].pull();
				if (piece) return piece;
			}
			return undefined;
		},
		async cancel(reason) {
			await Promise.all(sources.map((source) => source.cancel(reason)));
		},
	});
}
