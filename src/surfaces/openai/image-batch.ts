/**
 * A request for several images (`n`) as that many requests: each is admitted, counted and paid by itself, because
 * engines paint one image a call. They run side by side. The first failure stops the others and is the answer; what an
 * engine had painted by then is paid.
 */
import { mergeImages, singleImageBodies } from "../../dialects/media/openai-images.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";

export async function runEach(request: InferenceRequest, services: Services): Promise<Reply> {
	const bodies = singleImageBodies(request.inputs.fields);
	if (bodies.length === 1) return run(request, services);
	const stop = new AbortController();
	const signal = AbortSignal.any([request.signal, stop.signal]);
	// Without `options`: these requests may be identical, and must not share one image.
	const { options: _, ...own } = request;
	const runs = bodies.map((fields, place) =>
		run(
			{ ...own, id: place === 0 ? request.id : services.uuid(), inputs: { fields }, signal },
			services,
		).catch((error: unknown) => {
			stop.abort(error);
			throw error;
		}),
	);
	const ended = await Promise.allSettled(runs);
	if (stop.signal.aborted) throw stop.signal.reason;
	return joined(ended.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
}

/** The first reply with the images, the calls and the cost of all. */
function joined(replies: readonly Reply[]): Reply {
	const [first] = replies;
	if (!first) throw new TypeError("There is no reply to merge");
	const costs = replies.flatMap(({ neurons }) => neurons ?? []);
	const attempts = replies.reduce((sum, { served }) => sum + served.attempts, 0);
	const values = replies.map(({ body }) => (body.kind === "json" ? body.value : undefined));
	return {
		...first,
		served: { ...first.served, attempts },
		...(costs.length > 0 && { neurons: costs.reduce((sum, cost) => sum + cost, 0) }),
		body: { kind: "json", value: mergeImages(values) },
	};
}
