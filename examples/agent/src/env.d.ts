declare namespace Cloudflare {
	interface Env {
		AI: Ai;
	}
}
interface Env extends Cloudflare.Env {}
