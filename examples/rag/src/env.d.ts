declare namespace Cloudflare {
	interface Env {
		AI: Ai;
		HANDBOOK: AiSearchInstance;
	}
}
interface Env extends Cloudflare.Env {}
