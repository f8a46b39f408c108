/** The slope of the line nearest to the points (x, y), by least squares; 0 if undefined. */
export function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x0, y0] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [x]) => sum + (x - x0) ** 2, 0);
  return spread > 0 ? points.reduce((sum, [x, y]) => sum + (x - x0) * (y - y0), 0) / spread : 0;
}
