import { bdfs, GIB, type ModelSpec } from './spec.ts';

const MI200_FIRMWARE = {
  asd: 0x210000b0,
  mec: 0x5c,
  mec2: 0x5c,
  rlc: 0x11,
  sdma: 0x08,
  sdma2: 0x08,
  smc: 0x00443c00,
  sos: 0x00270082,
  ta_ras: 0x1b00013e,
  ta_xgmi: 0x2000000f,
  vcn: 0x0110101b,
};
const MI200: Omit<
  ModelSpec,
  | 'product'
  | 'deviceId'
  | 'subsystemDevice'
  | 'cusPerXcc'
  | 'cap'
  | 'idle'
  | 'dies'
  | 'addresses'
  | 'vbios'
  | 'fru'
  | 'xgmi'
> = {
  family: 'mi200',
  revision: 0x02,
  pciClass: 0x038000,
  gfxTargetVersion: 90010,
  kfdName: 'aldebaran',
  apu: false,
  xccs: 1,
  arraysPerXcc: 8,
  cuSlotsPerArray: 14,
  aids: 1,
  vcns: 2,
  jpegs: 2,
  hbmStacks: 4,
  vram: 68_702_699_520,
  vramVendor: 'hynix',
  memoryWidth: 4096,
  memoryBandwidth: 1638,
  clocks: {
    gfx: [500, 1700],
    mem: [400, 700, 1200, 1600],
    soc: [666, 857, 1000, 1090],
    fabric: [400, 800, 1200, 1600],
  },
  video: { vclk: [33, 1363], dclk: [33, 1147] },
  limits: {
    edge: { crit: 105, emergency: 110 },
    junction: { crit: 105, emergency: 110 },
    mem: { crit: 94, emergency: 99 },
  },
  pcie: { speed: 16, width: 16 },
  sdma: { engines: 2, xgmi: 3, queues: 8 },
  kfd: { firmware: 92, sdmaFirmware: 8, capability: 746_037_888, debugProp: 470 },
  cpu: { sockets: 2, cores: 64, memory: 512 * GIB, mhz: 2450 },
  memoryModes: [],
  firmware: MI200_FIRMWARE,
  ras: ['umc', 'sdma', 'gfx', 'mmhub', 'pcie_bif', 'hdp', 'xgmi_wafl', 'mca'],
};

export const mi210: ModelSpec = {
  ...MI200,
  product: 'AMD Instinct MI210',
  deviceId: 0x740f,
  subsystemDevice: 0x0c34,
  dies: 1,
  cusPerXcc: 104,
  cap: 300,
  idle: 41,
  xgmi: { speed: 25, width: 16, links: 1, hive: 4 },
  addresses: bdfs('03', '26', '43', '63', '83', 'a3', 'c3', 'e3'),
  probeOrder: [3, 2, 0, 1, 7, 6, 4, 5],
  vbios: '113-D67301-063',
  fru: { number: '102-D67301-00', manufacturer: 'AMD' },
};

export const mi250x: ModelSpec = {
  ...MI200,
  product: 'AMD Instinct MI250X',
  deviceId: 0x7408,
  subsystemDevice: 0x0b0c,
  dies: 2,
  cusPerXcc: 110,
  cap: 560,
  idle: 90,
  xgmi: { speed: 25, width: 16, links: 1, hive: 8 },
  addresses: bdfs('c1', 'c6', 'c9', 'ce', 'd1', 'd6', 'd9', 'de'),
  vbios: '113-D65209-073',
  fru: { number: '102-D65209-00', manufacturer: 'AMD' },
};
