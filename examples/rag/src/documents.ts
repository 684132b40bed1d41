/** The documents. Yours may be in R2, KV or D1. */
export interface Document {
	source: string;
	text: string;
}

export const DOCUMENTS: Document[] = [
	{
		source: "handbook/returns.md",
		text: "Unworn shoes can be returned within 60 days of delivery. Refunds reach the original card within five working days. Shoes from the outlet are exchanged, not refunded.",
	},
	{
		source: "handbook/shipping.md",
		text: "Orders leave the warehouse in Rotterdam every weekday at 16:00. Standard delivery within the Netherlands takes two days. Express delivery costs 9 euros and arrives the next morning.",
	},
	{
		source: "handbook/warranty.md",
		text: "The warranty covers soles and stitching for two years. Damage by salt water is not covered. A claim needs a photograph of the damage and the order number.",
	},
	{
		source: "handbook/care.md",
		text: "Clean leather with a damp cloth and let it dry away from heaters. Suede is brushed, never washed. Waterproof the boots with beeswax before every winter.",
	},
	{
		source: "handbook/stores.md",
		text: "The store in Utrecht opens from 10:00 to 18:00 and is closed on Mondays. The store in Antwerp repairs soles while customers wait. Both stores accept returns of online orders.",
	},
	{
		source: "handbook/sizes.md",
		text: "Boots run half a size large. Trail shoes should leave a thumb of space before the toes. A wide fit exists from size 38 to size 46.",
	},
];
