// The floor: a Worker that passes everything on. Plain JavaScript, so that it is what it looks like.
export default {
	fetch: (request, env) => fetch(env.UPSTREAM + new URL(request.url).pathname, request),
};
