declare namespace Cloudflare {
	interface Env {
		AI: Ai;
		VECTORIZE: Vectorize;
		HANDBOOK: AiSearchInstance;
	}
}
interface Env extends Cloudflare.Env {}
