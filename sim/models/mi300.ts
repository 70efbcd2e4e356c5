import { bdfs, GIB, type ModelSpec } from './spec.ts';

const MI300_FIRMWARE = {
  asd: 0x210000eb,
  mec: 0xb1,
  mec2: 0,
  rlc: 0x4f,
  sdma: 0x18,
  sdma2: 0x18,
  smc: 0x00557900,
  sos: 0x0036420f,
  ta_ras: 0x1b36020f,
  ta_xgmi: 0x20000014,
  vcn: 0x09117004,
  pldm: 0x01000000,
};

const MI300: Omit<ModelSpec, 'product' | 'deviceId' | 'subsystemDevice' | 'vbios'> = {
  family: 'mi300',
  revision: 0x00,
  pciClass: 0x120000,
  gfxTargetVersion: 90402,
  kfdName: 'ip discovery',
  apu: false,
  dies: 1,
  xccs: 8,
  cusPerXcc: 38,
  arraysPerXcc: 4,
  cuSlotsPerArray: 10,
  aids: 4,
  vcns: 4,
  jpegs: 32,
  hbmStacks: 8,
  vram: 206_141_652_992,
  vramVendor: 'samsung',
  memoryWidth: 8192,
  memoryBandwidth: 5300,
  cap: 750,
  idle: 130,
  clocks: { gfx: [500, 2100], mem: [900, 1100, 1300], soc: [889, 1000, 1143], fabric: [1300, 1550, 1800] },
  video: { vclk: [29, 1333], dclk: [22, 1111] },
  limits: { junction: { crit: 100, emergency: 110 }, mem: { crit: 105, emergency: 115 } },
  pcie: { speed: 32, width: 16 },
  xgmi: { speed: 32, width: 16, links: 1, hive: 8 },
  sdma: { engines: 16, xgmi: 0, queues: 8 },
  kfd: { firmware: 177, sdmaFirmware: 24, capability: 2_893_521_536, debugProp: 1511 },
  addresses: bdfs('05', '26', '46', '65', '85', 'a6', 'c6', 'e5'),
  cpu: { sockets: 2, cores: 96, memory: 1152 * GIB, mhz: 2750 },
  memoryModes: ['nps1', 'nps2', 'nps4', 'nps8'],
  fru: { number: '102-G30211-00', manufacturer: 'AMD' },
  firmware: MI300_FIRMWARE,
  ras: ['umc', 'sdma', 'gfx', 'mmhub', 'pcie_bif', 'xgmi_wafl', 'mca', 'vcn', 'jpeg'],
};

export const mi300x: ModelSpec = {
  ...MI300,
  product: 'AMD Instinct MI300X OAM',
  deviceId: 0x74a1,
  subsystemDevice: 0x74a1,
  vbios: '113-M3000100-102',
};

export const mi300a: ModelSpec = {
  ...withoutFru(MI300),
  product: 'AMD Instinct MI300A',
  deviceId: 0x74a0,
  subsystemDevice: 0x74a0,
  apu: true,
  xccs: 6,
  vcns: 3,
  jpegs: 24,
  vram: 128 * GIB,
  cap: 550,
  idle: 145,
  xgmi: { speed: 32, width: 16, links: 2, hive: 4 },
  sdma: { engines: 12, xgmi: 0, queues: 8 },
  addresses: ['0000:01:00.0', '0001:01:00.0', '0002:01:00.0', '0003:01:00.0'],
  cpu: { sockets: 4, cores: 24, memory: 128 * GIB, mhz: 3700 },
  memoryModes: ['nps1'],
  vbios: '113-A30PROD-002',
};

export const mi325x: ModelSpec = {
  ...MI300,
  product: 'AMD Instinct MI325X OAM',
  deviceId: 0x74a5,
  subsystemDevice: 0x74a5,
  vram: 274_861_129_728,
  memoryBandwidth: 6000,
  cap: 1000,
  idle: 150,
  clocks: { gfx: [500, 2100], mem: [900, 1200, 1500], soc: [889, 1000, 1143], fabric: [1300, 1550, 1800] },
  vbios: '113-M3250101-100',
  fru: { number: '102-G32511-00', manufacturer: 'AMD' },
};

export const mi355x: ModelSpec = {
  ...MI300,
  product: 'AMD Instinct MI355X OAM',
  family: 'mi350',
  deviceId: 0x75a3,
  subsystemDevice: 0x75a3,
  gfxTargetVersion: 90500,
  cusPerXcc: 32,
  cuSlotsPerArray: 9,
  aids: 2,
  jpegs: 40,
  vram: 309_220_868_096,
  vramVendor: 'micron',
  memoryBandwidth: 8000,
  cap: 1400,
  idle: 200,
  clocks: { gfx: [500, 2400], mem: [900, 1400, 1900], soc: [800, 1000, 1200], fabric: [1200, 1500, 1800] },
  xgmi: { speed: 38, width: 16, links: 1, hive: 8 },
  memoryModes: ['nps1', 'nps2'],
  vbios: '113-M3550101-100',
  fru: { number: '102-G35511-00', manufacturer: 'AMD' },
  firmware: { ...MI300_FIRMWARE, smc: 0x04560e00, mec: 0x24, sdma: 0x0b, sdma2: 0x0b },
};

/** MI300A packages carry no FRU EEPROM and name no memory vendor. */
function withoutFru(spec: typeof MI300): Omit<typeof MI300, 'fru' | 'vramVendor'> {
  const { fru: _fru, vramVendor: _vendor, ...rest } = spec;
  return rest;
}
